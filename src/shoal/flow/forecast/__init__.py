"""What a release that another has yet to make would expose of ours, and how well that is foretold.

``verb`` forecasts: ``reading`` makes people of a release (``placed`` says where they are),
``others`` supposes who publishes beside us, ``result`` is what is told. ``validation`` holds the
estimators against releases that were really made, and ``score`` says how well they did.
"""

from shoal.flow.forecast.result import Forecast
from shoal.flow.forecast.score import Validation
from shoal.flow.forecast.validation import validate_forecast
from shoal.flow.forecast.verb import forecast

__all__ = ["Forecast", "Validation", "forecast", "validate_forecast"]
